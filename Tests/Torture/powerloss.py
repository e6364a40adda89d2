"""What is left on a disk whose power fails: made of the calls that a program made, and of which it had synced."""

import os
import shutil

SECTOR = 512


class Recording:
    """The calls of one run, as faults.c wrote them down."""

    def __init__(self, path):
        self.calls = []
        with open(path, "rb") as file:
            data = file.read()
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            tab = data.index(b"\t", at)
            what = data[at:tab].decode()
            if what == "write":
                name, offset, length, _ = data[tab + 1 : tab + 1 + 8192].split(b"\t", 3)
                begin = tab + 1 + len(name) + len(offset) + len(length) + 3
                end = begin + int(length)
                self.calls.append((what, name.decode(), int(offset), data[begin:end]))
            else:
                self.calls.append((what, *(part.decode() for part in data[tab + 1 : end].split(b"\t"))))
            at = end + 1


class File:
    """A file apart from its names: its bytes, and the calls on it that no sync has made sure."""

    def __init__(self, data=b""):
        self.data = bytearray(data)
        self.waiting = []

    def sync(self):
        for call in self.waiting:
            self.apply(call)
        self.waiting = []

    def apply(self, call):
        what, offset, data, _ = call
        if what == "truncate":
            del self.data[offset:]
            self.data.extend(bytes(offset - len(self.data)))
        else:
            self.data.extend(bytes(max(0, offset - len(self.data))))
            self.data[offset : offset + len(data)] = data

    def lose_power(self, chance, cut):
        """Of the writes that wait, any may be done or not; of the last one, a part that ends with a sector.

        Of the truncations those up to a cut are done, or any, if there is no cut.
        """
        keeps = chance.choice([0, 0.5, 0.5, 0.9, 1])
        for index, call in enumerate(self.waiting):
            what, offset, data, number = call
            if number > cut if what == "truncate" and cut is not None else chance.random() >= keeps:
                continue
            if what == "write" and index == len(self.waiting) - 1:
                first = SECTOR - offset % SECTOR
                cuts = [0] + list(range(first, len(data), SECTOR)) + [len(data)]
                data = data[: chance.choice(cuts)]
            self.apply((what, offset, data, number))
        self.waiting = []


class Disk:
    """A folder before the run, and what the calls make of it."""

    def __init__(self, folder):
        self.folder = folder
        self.folders = {""}
        # What the program sees, and what is on the disk; names to files.
        self.seen, self.kept = {}, {}
        # Changes of names that no sync of their folder has made sure, in order, by folder.
        self.waiting = {}
        self.modes = {}
        # Changes of names and lengths are numbered; those up to `sure` are on the disk if it keeps their order.
        self.number = self.sure = 0
        for place, folders, names in os.walk(folder):
            below = os.path.relpath(place, folder)
            for name in folders:
                self.folders.add(os.path.normpath(os.path.join(below, name)))
            for name in names:
                path = os.path.normpath(os.path.join(below, name))
                with open(os.path.join(place, name), "rb") as file:
                    self.seen[path] = self.kept[path] = File(file.read())
                self.modes[path] = os.stat(os.path.join(place, name)).st_mode & 0o777

    def do(self, call):
        what, name, *rest = call
        self.number += 1
        if what == "create":
            self.seen[name] = File()
            self._name(name, self.seen[name])
        elif what == "write":
            self.seen[name].waiting.append(("write", rest[0], rest[1], self.number))
        elif what == "truncate":
            self.seen[name].waiting.append(("truncate", int(rest[0]), b"", self.number))
        elif what == "sync":
            # A folder by its name, or a file.
            if name in self.seen:
                cuts = [call[3] for call in self.seen[name].waiting if call[0] == "truncate"]
                self.sure = max([self.sure, *cuts])
                self.seen[name].sync()
            else:
                self._sync_names("" if name == "." else name)
        elif what == "unlink":
            self.seen.pop(name, None)
            self._name(name, None)
        elif what == "link":
            self.seen[rest[0]] = self.seen[name]
            self._name(rest[0], self.seen[name])
        elif what == "rename":
            file = self.seen.pop(name)
            self.seen[rest[0]] = file
            self._name(rest[0], file, gone=name)
        elif what == "mkdir":
            self.folders.add(name)

    def _name(self, name, file, gone=None):
        self.waiting.setdefault(os.path.dirname(name), []).append((name, file, gone, self.number))

    def _keep(self, change):
        name, file, gone, number = change
        self.sure = max(self.sure, number)
        for old in (gone, name if file is None else None):
            if old is not None:
                self.kept.pop(old, None)
        if file is not None:
            self.kept[name] = file

    def _sync_names(self, folder):
        for change in self.waiting.pop(folder, []):
            self._keep(change)

    def lose_power(self, chance, folder, is_ordered):
        """Writes what is on the disk afterwards.

        With a file system that writes a journal, as all that are usual do, changes of names and lengths reach the disk
        in their order, whatever file or folder they are of; else only those of one folder are in order.
        """
        cut = chance.randint(self.sure, self.number) if is_ordered else None
        for place, changes in self.waiting.items():
            count = chance.randint(0, len(changes))
            for index, change in enumerate(changes):
                if index < count if cut is None else change[3] <= cut:
                    self._keep(change)
        shutil.rmtree(folder, ignore_errors=True)
        for place in sorted(self.folders):
            os.makedirs(os.path.join(folder, place), exist_ok=True)
        files = {}
        for name, file in self.kept.items():
            if id(file) not in files:
                file.lose_power(chance, cut)
                files[id(file)] = os.path.join(folder, name)
                with open(files[id(file)], "wb") as output:
                    output.write(file.data)
                os.chmod(files[id(file)], self.modes.get(name, 0o640))
            else:
                os.link(files[id(file)], os.path.join(folder, name))
