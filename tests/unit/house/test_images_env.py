"""What the Docker tests learn of the images that were built."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def exports(listing: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/images_env.py"],
        cwd=ROOT,
        input=json.dumps(listing),
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_image_becomes_a_variable() -> None:
    """The shell that starts pytest can take the lines as they are, whatever is in a path."""
    listing = {
        "images": [{"name": "trial", "id": "sha256:aa"}, {"name": "qdrant", "id": "sha256:bb"}],
        "model_dir": "/a b/model",
    }
    assert exports(listing).stdout == (
        "export PAIRBENCH_TRIAL_IMAGE=sha256:aa\nexport PAIRBENCH_QDRANT_IMAGE=sha256:bb\n"
        "export PAIRBENCH_MODEL_DIR='/a b/model'\n"
    )


def test_a_listing_of_another_shape_fails() -> None:
    """Tests must not run against no image because a listing changed."""
    assert exports({"pictures": []}).returncode != 0
