# Takes the last record from journals, as if their processes had been killed before they wrote it:
#   forget-last.py JOURNAL...

import sys

HEADER, RECORD = 40, 32

for path in sys.argv[1:]:
    with open(path, "r+b") as journal:
        content = journal.read()
        records = range(HEADER, len(content), RECORD)
        # Room that is not used yet follows.
        last = max(at for at in records if any(content[at : at + RECORD]))
        journal.truncate(last)
