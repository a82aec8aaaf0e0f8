"""These files need Triton's interpreter; `test_interpreted.py` runs them with it."""

import os

collect_ignore_glob = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["test_*.py"]
