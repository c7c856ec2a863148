"""How long a comparison will still take, from how long its parts have taken."""

import statistics

# Of a run, beside its seconds, before any was made: the start, and measuring the driver twice.
AROUND_A_RUN = 0.35
# Of a store in this process, which loads in each run; at a few hundred bytes a value.
LOAD_OF_A_RECORD = 1.5e-6
# To start the servers and to load them all, for each size of values.
PREPARATION = 30


class Progress:
    def __init__(self, seconds, records):
        self.seconds = seconds
        self.records = records
        self.taken = {}
        self.preparations = []

    def ran(self, store, took):
        self.taken.setdefault(store.name, []).append(took)

    def prepared(self, took):
        self.preparations.append(took)

    def left(self, stores, preparations):
        """Seconds for a run of each of `stores`, in which one may occur often, and for starting and
        loading the servers so often."""
        each = statistics.mean(self.preparations) if self.preparations else PREPARATION
        return sum(self.of(store) for store in stores) + preparations * each

    def of(self, store):
        taken = self.taken.get(store.name)
        if taken:
            return statistics.mean(taken)
        load = 0 if store.server else self.records * LOAD_OF_A_RECORD
        return self.seconds + AROUND_A_RUN + load


def words(seconds):
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
