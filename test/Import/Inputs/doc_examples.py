"""Takes the examples out of a page, so that they can't rot.

    doc_examples.py PAGE json > request.json     the page's only block of JSON
    doc_examples.py PAGE cpp FILE...             each line of C++ is in a file
"""

import re
import sys

page, language, files = sys.argv[1], sys.argv[2], sys.argv[3:]
with open(page) as text:
    blocks = re.findall(rf"```{language}\n(.*?)```", text.read(), re.S)
if language == "json":
    (block,) = blocks
    print(block)
    sys.exit()
known = set()
for file in files:
    with open(file) as text:
        known |= {line.strip() for line in text}
lines = [line.strip() for block in blocks for line in block.splitlines()]
stale = [line for line in lines if line not in known | {"..."}]
if not lines or stale:
    sys.exit("not in the sources: " + "\n".join(stale or ["(no block)"]))
