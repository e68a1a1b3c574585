"""Stands in for the page's worker processes where a test is of the server alone: it starts in no time.

What it does is told by the first upload: "die", "hang", or anything else for results of that many bytes.
"""

import json
import sys
import time
from pathlib import Path


def tell(**message):
    print(json.dumps(message), flush=True)


def main():
    tell(ready=True)
    for line in sys.stdin:
        request = json.loads(line)
        tell(begun=True)
        if sys.argv[1] == "check":
            tell(answer=None)
            continue
        folder = Path(request["folder"])
        upload = folder / "upload0"
        wish = upload.read_text()
        if wish == "die":
            sys.exit(1)
        if wish == "hang":
            time.sleep(1000)
        tell(stage=["features", 1, 2])
        for name in ("matches.json", "matches.html"):
            (folder / name).write_text(wish)
        tell(answer={"told": "1 object in both", "error": None, "lines": [], "look_harder": False})


if __name__ == "__main__":
    main()
