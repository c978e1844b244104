"""Prints the software bill of materials of the Python package, in the format of CycloneDX.

It lists the packages that a gateway is tested with, from `requirements/run.lock`, with the hashes of their
files. The same lock gives the same output.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "run.lock"
_PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:(?P<digest>[0-9a-f]{64})")


def bill_of_materials(lock: str, version: str) -> dict[str, object]:
    """Return the bill of materials of a lock."""
    components: list[dict[str, object]] = []
    for line in lock.splitlines():
        if package := _PACKAGE.match(line):
            purl = f"pkg:pypi/{package['name'].lower()}@{package['version']}"
            components.append(
                {
                    "type": "library",
                    "bom-ref": purl,
                    "name": package["name"],
                    "version": package["version"],
                    "purl": purl,
                    "hashes": [],
                }
            )
        for digest in _HASH.findall(line):
            hashes = components[-1]["hashes"]
            assert isinstance(hashes, list)
            hashes.append({"alg": "SHA-256", "content": digest})
    root = f"pkg:pypi/thinkaloud@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "thinkaloud",
                "version": version,
                "purl": root,
            }
        },
        "components": components,
    }


if __name__ == "__main__":
    print(json.dumps(bill_of_materials(LOCK.read_text("utf-8"), sys.argv[1]), indent=2))
