"""Tables as Parquet files, through pyarrow: the extra `parquet`."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from runner.ports.frames import ColumnKind, Columns


class Parquet:
    """Writes Parquet files."""

    def write(self, path: Path, kinds: Mapping[str, ColumnKind], batches: Iterable[Columns]) -> int:
        """The table of `batches` is the file at `path`, in place of any other; how many rows it has.

        Raises:
            EnvironmentNotReady: pyarrow isn't installed, or the file can't be written.
        """
        arrow, parquet = _library("pyarrow"), _library("pyarrow.parquet")
        types = {"text": arrow.string(), "whole": arrow.int64(), "number": arrow.float64(), "flag": arrow.bool_()}
        schema = arrow.schema([(name, types[kind]) for name, kind in kinds.items()])
        rows = 0
        part = path.with_name(f"{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with parquet.ParquetWriter(part, schema, compression="zstd") as writer:
                for batch in batches:
                    table = arrow.Table.from_pydict(dict(batch), schema=schema)
                    writer.write_table(table)
                    rows += table.num_rows
            part.replace(path)
        except OSError as error:
            raise EnvironmentNotReady(f"can't be written: {error.strerror or error}", document=str(path)) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        return rows


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EnvironmentNotReady(
            "Parquet files need the package pyarrow", hint='install it: pip install "pairbench[parquet]"'
        ) from error
