# corpus: kind=endings needs=- samples=- loaders=0 trains=- exit=0
# No torch at all: most programs of a job are like this.
import json
import os
import sys

path = os.path.join(os.environ.get("CORPUS_DATA", "."), "records.json")
records = [{"id": i, "length": (i * 37) % 101, "tags": ["a", "b"][: i % 3]} for i in range(200)]
with open(path, "w") as file:
    json.dump(records, file, indent=1)
with open(path) as file:
    loaded = json.load(file)
assert loaded == records
longest = max(loaded, key=lambda record: record["length"])
print(json.dumps({"count": len(loaded), "longest": longest}, sort_keys=True))
print("torch" in sys.modules, "numpy" in sys.modules, "ctypes" in sys.modules)
print(open(path).read().count("\n"))
