"""The runs that were made: written down one by one, so that a comparison which was ended goes on where
it was."""

import json


class OtherSettings(Exception):
    pass


class Journal:
    """Runs by their keys: tuples of texts and numbers. One that was not written to its end is as if it
    had not been made."""

    def __init__(self, folder, settings):
        self.runs = {}
        self.path = folder / "runs.jsonl"
        told = folder / "settings.json"
        text = json.dumps(settings, indent=1)
        if told.exists() and told.read_text(encoding="utf-8") != text:
            raise OtherSettings(
                f"{folder} has runs of other settings ({told}); give the same ones, or another --out")
        told.write_text(text, encoding="utf-8")
        if self.path.exists():
            self.read()

    def read(self):
        whole = ""
        for line in self.path.read_text(encoding="utf-8").splitlines(keepends=True):
            if not line.endswith("\n"):
                break
            key, run = json.loads(line)
            self.runs[tuple(key)] = run
            whole += line
        self.path.write_text(whole, encoding="utf-8")

    def add(self, key, run):
        self.runs[key] = run
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps([key, run]) + "\n")

    def drop(self, keys):
        """Those that are to be made again."""
        for key in keys:
            self.runs.pop(key, None)
        self.path.write_text("".join(json.dumps([key, run]) + "\n" for key, run in self.runs.items()),
                             encoding="utf-8")
