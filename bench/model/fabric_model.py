"""What operations made of one-sided verbs can do on given hardware: arithmetic only, no files.

A server is two links, a message engine and a unit for atomics, a client links, engine and threads;
each is a station with a service time, the way between them a delay. docs/model.md states the
assumptions.
"""

import dataclasses
import math

READ_REQUEST = 16        # RETH
WRITE_REQUEST = 16
ATOMIC_REQUEST = 28      # AtomicETH
READ_RESPONSE = 4        # AETH
WRITE_RESPONSE = 4
ATOMIC_RESPONSE = 12     # AETH and the old word
KINDS = ("read", "write", "cas")


@dataclasses.dataclass(frozen=True)
class Hardware:
    """Rates in millions a second, times in microseconds. `rtt_us` is that of one small READ from
    the call to its completion, nothing else going on, and includes the processor's `post_us`."""
    name: str
    rtt_us: float
    read_mops: float
    write_mops: float
    atomic_mops: float
    same_word_mops: float    # atomics on one word
    link_gbps: float         # one way
    header_bytes: int        # of each packet, all layers, on the wire
    mtu: int
    read_depth: int          # READs and atomics in flight of one connection
    post_us: float           # processor time of a chain of one verb, its completion included
    verb_us: float           # processor time of each further verb of the chain
    source: str = ""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in ("name", "source") and not (
                    isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
                raise ValueError(f"{self.name}: {field.name} has to be a number above 0, not "
                                 f"{value!r}")
        if self.post_us > self.rtt_us:
            raise ValueError(f"{self.name}: post_us is part of rtt_us and can't be more")


@dataclasses.dataclass(frozen=True)
class Verb:
    kind: str
    size: int

    def __post_init__(self):
        if self.kind not in KINDS or self.size < 0:
            raise ValueError(f"no such verb: {self.kind} {self.size}; kinds are {', '.join(KINDS)}")


@dataclasses.dataclass(frozen=True)
class Operation:
    """Chains of verbs, each a round trip after the one before; and verbs that nobody waits for."""
    chains: tuple            # of tuples of Verb
    unawaited: tuple = ()    # of Verb

    def verbs(self):
        return [verb for chain in self.chains for verb in chain] + list(self.unawaited)


@dataclasses.dataclass(frozen=True)
class Demand:
    """What one operation (or a mix of them, on average) needs; times in microseconds."""
    round_trips: float = 0
    verbs: float = 0
    atomics: float = 0
    reads_and_atomics: float = 0
    engine_us: float = 0     # of a server's message engine, and as much of the client's
    atomic_us: float = 0     # of a server's unit for atomics, beside the engine
    in_us: float = 0         # of the link into a server
    out_us: float = 0        # of the link out of it
    client_us: float = 0     # of the thread's processor
    wire_us: float = 0       # delay while nobody else is there, the processor's time not included

    def scaled(self, factor):
        return Demand(*(getattr(self, field.name) * factor for field in dataclasses.fields(self)))

    def plus(self, other):
        return Demand(*(getattr(self, field.name) + getattr(other, field.name)
                        for field in dataclasses.fields(self)))


def packets(size, hardware):
    return max(1, math.ceil(size / hardware.mtu))


def wire_bytes(verb, hardware):
    """(towards the server, back from it)"""
    header = hardware.header_bytes
    payload = verb.size + header * packets(verb.size, hardware)
    if verb.kind == "read":
        return header + READ_REQUEST, payload + READ_RESPONSE
    if verb.kind == "write":
        return payload + WRITE_REQUEST, header + WRITE_RESPONSE
    return header + ATOMIC_REQUEST, header + ATOMIC_RESPONSE


def link_us(size, hardware):
    return size * 8 / (hardware.link_gbps * 1e3)


def engine_us(verb, hardware):
    """An atomic is a message like a READ; what it takes beyond that is the unit's."""
    return 1 / (hardware.write_mops if verb.kind == "write" else hardware.read_mops)


def demand_of(operation, hardware, store_us=0.0):
    """`store_us` is the store's own processor time on the client."""
    verbs = operation.verbs()
    sizes = [wire_bytes(verb, hardware) for verb in verbs]
    chains = len(operation.chains)
    # A chain's verbs beyond the first are posted while the first is on its way.
    further = sum(len(chain) - 1 for chain in operation.chains) + len(operation.unawaited)
    processor = chains * hardware.post_us + further * hardware.verb_us
    waited = [wire_bytes(verb, hardware) for chain in operation.chains for verb in chain]
    atomics = sum(verb.kind == "cas" for verb in verbs)
    payload = sum(link_us(max(0, max(there, back) - 2 * hardware.header_bytes), hardware)
                  for there, back in waited)
    return Demand(
        round_trips=chains,
        verbs=len(verbs),
        atomics=atomics,
        reads_and_atomics=sum(verb.kind != "write" for verb in verbs),
        engine_us=sum(engine_us(verb, hardware) for verb in verbs),
        atomic_us=atomics / hardware.atomic_mops,
        in_us=sum(link_us(there, hardware) for there, _ in sizes),
        out_us=sum(link_us(back, hardware) for _, back in sizes),
        client_us=processor + store_us,
        wire_us=chains * (hardware.rtt_us - hardware.post_us) + payload)


def mix_demand(parts):
    """Of (share, Demand); the shares are made to add up to one."""
    total = sum(share for share, _ in parts)
    if total <= 0 or any(share < 0 for share, _ in parts):
        raise ValueError("the shares of a mix have to be 0 or more, and one of them above 0")
    mixed = Demand()
    for share, demand in parts:
        mixed = mixed.plus(demand.scaled(share / total))
    return mixed


def with_measured(demand, round_trips, verbs):
    """The same mix with the round trips and verbs that were counted in a run: what scales with
    verbs is scaled by their ratio, what scales with round trips by that."""
    if round_trips <= 0 or verbs <= 0:
        raise ValueError("measured round trips and verbs have to be above 0")
    by_verbs = verbs / demand.verbs
    by_trips = round_trips / demand.round_trips
    return dataclasses.replace(
        demand, round_trips=round_trips, verbs=verbs, atomics=demand.atomics * by_verbs,
        reads_and_atomics=demand.reads_and_atomics * by_verbs,
        engine_us=demand.engine_us * by_verbs, atomic_us=demand.atomic_us * by_verbs,
        in_us=demand.in_us * by_verbs, out_us=demand.out_us * by_verbs,
        client_us=demand.client_us * by_trips,
        wire_us=demand.wire_us * by_trips)


@dataclasses.dataclass(frozen=True)
class Cluster:
    servers: int = 1
    clients: int = 1              # machines
    threads: int = 1              # of each
    outstanding: int = 1          # operations of each thread
    hottest_share: float = 0.0    # of the operations that go to the hottest key

    def __post_init__(self):
        for name in ("servers", "clients", "threads", "outstanding"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} has to be 1 or more")
        if not 0 <= self.hottest_share <= 1:
            raise ValueError("the hottest key's share has to be between 0 and 1")

    @property
    def customers(self):
        return self.clients * self.threads * self.outstanding

    @property
    def hottest_server(self):
        """Share of the operations that the hottest key's server gets."""
        return self.hottest_share + (1 - self.hottest_share) / self.servers


@dataclasses.dataclass(frozen=True)
class Station:
    name: str
    demand_us: float    # of one operation at all of them together
    count: int          # how many there are, each as likely as the others

    @property
    def each_us(self):
        return self.demand_us / self.count


def stations_of(demand, cluster):
    parts = [("engine", demand.engine_us), ("atomics", demand.atomic_us),
             ("link in", demand.in_us), ("link out", demand.out_us)]
    found = []
    hot = cluster.hottest_server
    for name, time in parts:
        if cluster.hottest_share == 0 or cluster.servers == 1:
            found.append(Station(f"server's {name}", time, cluster.servers))
        else:
            found.append(Station(f"hottest server's {name}", time * hot, 1))
            found.append(Station(f"other servers' {name}", time * (1 - hot), cluster.servers - 1))
        if name != "atomics":
            found.append(Station(f"client's {name}", time, cluster.clients))
    if cluster.outstanding > 1:
        found.append(Station("client's threads", demand.client_us,
                             cluster.clients * cluster.threads))
    return [station for station in found if station.demand_us > 0]


def ceilings(demand, hardware, cluster):
    """(what, millions of operations a second), the lowest first."""
    found = [(station.name, 1 / station.each_us) for station in stations_of(demand, cluster)]
    threads = cluster.clients * cluster.threads
    found.append(("client's threads", threads / demand.client_us))
    if demand.reads_and_atomics > 0:
        found.append(("depth of READs", threads * hardware.read_depth /
                      (demand.reads_and_atomics * hardware.rtt_us)))
    if demand.atomics > 0 and cluster.hottest_share > 0:
        found.append(("atomics on the hottest word",
                      hardware.same_word_mops / (demand.atomics * cluster.hottest_share)))
    return sorted(dict(found).items(), key=lambda each: each[1])


@dataclasses.dataclass(frozen=True)
class Prediction:
    mops: float
    latency_us: float
    bottleneck: str
    ceiling_mops: float


def delay_of(demand, cluster):
    return demand.wire_us + (demand.client_us if cluster.outstanding == 1 else 0)


def mean_value_analysis(stations, delay_us, customers):
    """(operations a microsecond, microseconds an operation) of a closed queueing network; exact up
    to 5,000 customers, beyond them by Schweitzer's approximation."""
    queues = [0.0] * len(stations)
    rate = latency = 0.0
    if customers <= 5000:
        for present in range(1, customers + 1):
            times = [station.demand_us * (1 + queue) for station, queue in zip(stations, queues)]
            latency = delay_us + sum(times)
            rate = present / latency
            queues = [rate * time / station.count for station, time in zip(stations, times)]
        return rate, latency
    queues = [customers / (len(stations) * station.count) for station in stations]
    for _ in range(20_000):
        seen = [queue * (customers - 1) / customers for queue in queues]
        times = [station.demand_us * (1 + queue) for station, queue in zip(stations, seen)]
        latency = delay_us + sum(times)
        rate = customers / latency
        new = [rate * time / station.count for station, time in zip(stations, times)]
        done = max(abs(a - b) for a, b in zip(new, queues)) < 1e-9 * customers
        queues = new
        if done:
            break
    return rate, latency


def closed_loop(demand, hardware, cluster):
    """Every thread has its operations in flight all the time."""
    rate, latency = mean_value_analysis(
        stations_of(demand, cluster), delay_of(demand, cluster), cluster.customers)
    what, ceiling = ceilings(demand, hardware, cluster)[0]
    if rate > ceiling:
        rate, latency = ceiling, cluster.customers / ceiling
    waiting = rate < 0.9 * ceiling
    return Prediction(rate, latency, "round trips" if waiting else what, ceiling)


def open_loop(demand, hardware, cluster, mops):
    """At a given rate; queues as of M/D/1. None beyond what the hardware can do."""
    what, ceiling = ceilings(demand, hardware, cluster)[0]
    if mops >= ceiling:
        return None
    latency = delay_of(demand, cluster)
    for station in stations_of(demand, cluster):
        busy = mops * station.each_us
        latency += station.demand_us * (1 + busy / (2 * (1 - busy)))
    return Prediction(mops, latency, what, ceiling)


def zipfian_hottest(keys, theta):
    """The share of the most popular of `keys` under YCSB's distribution."""
    if keys < 1:
        raise ValueError("there has to be a key")
    direct = min(keys, 100_000)
    zeta = math.fsum(i ** -theta for i in range(1, direct + 1))
    if keys > direct:
        # Euler and Maclaurin's sum of the rest.
        power = 1 - theta
        zeta += ((keys ** power - direct ** power) / power if power else math.log(keys / direct))
        zeta += (keys ** -theta - direct ** -theta) / 2
    return 1 / zeta
