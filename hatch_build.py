"""The README as package indexes show it: links and pictures lead to the repository."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

HOME = "https://github.com/surelabel/surelabel/blob"
RAW = "https://raw.githubusercontent.com/surelabel/surelabel"


class Readme(MetadataHookInterface):
    """Fill in the README when the metadata is made."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Make relative links absolute, at the tag of this version."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        tag = f"v{metadata['version']}"
        text = re.sub(r"(!\[[^\]]*\]\()(?!http)", rf"\g<1>{RAW}/{tag}/", text)
        text = re.sub(r"((?<!!)\[[^\]]*\]\()(?!http)", rf"\g<1>{HOME}/{tag}/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
