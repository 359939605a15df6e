"""Print, as shell exports, what the Docker tests must know: the images that pods are made of, and where the model lies.

It reads `pairbench images list --json` on standard input: `{"images": [{"name", "id", ...}], "model_dir": path, ...}`.
"""

from __future__ import annotations

import json
import shlex
import sys


def exports(listing: dict[str, object]) -> dict[str, str]:
    """The environment for the tests: one variable an image, and the folder of the embedding model."""
    images = listing["images"]
    if not isinstance(images, list):
        raise TypeError("images is not a list")
    environment = {f"PAIRBENCH_{image['name'].upper()}_IMAGE": str(image["id"]) for image in images}
    if isinstance(listing.get("model_dir"), str):
        environment["PAIRBENCH_MODEL_DIR"] = str(listing["model_dir"])
    return environment


if __name__ == "__main__":
    for name, value in exports(json.load(sys.stdin)).items():
        print(f"export {name}={shlex.quote(value)}")
