"""What --quick checks, where the figures mean nothing: that every measurement was made and that the pages can be drawn."""

import pathlib
import shutil
import tempfile
import xml.etree.ElementTree

from . import page
from .measuring import end
from .result import Result

# Each with a side that is always there.
MEASURED = {
    "nothing": "job", "dry_run": "job", "delete": "objects", "live": "job", "company": "job", "strategy": "range",
    "cascade": "job", "library_delete": "batch", "library_insert": "batch", "library_merge": "batch", "dropping": "file",
}


def check(result, docs):
    """Ends the bench if a part has no figures, or if the pages are not drawn from the result file."""
    for part, side in MEASURED.items():
        if not any(cell.is_available for cell in result.find(part=part, side=side)):
            end(f"nothing was measured of {part}, {side}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for drawn in ("benchmarks.md", "scale.md"):
            shutil.copy(docs / drawn, folder)
        result.write(folder / "result.json")
        page.write_all(Result.read(folder / "result.json"), folder)
        for picture in folder.glob("*.svg"):
            xml.etree.ElementTree.parse(picture)
        if result.facts["processor"] not in (folder / "benchmarks.md").read_text():
            end("the page was not drawn")
