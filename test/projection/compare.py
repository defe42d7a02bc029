"""Two lists of plans, compared: equal, changed, or worse."""

import math

SLACK = 1.01
"""The busiest port and the predicted time of a single plan may be so much longer; the geometric means may not."""
DEFAULT_BUDGET = 1.05


def read(path, parse):
    """{name: plan}, in the order of the file."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {plan.name: plan for plan in map(parse, lines)}


def same(was, now):
    """Whether two plans do the same. What is predicted of them depends on the simulator too, and does not count."""
    fields = ("request", "remedy", "projection", "moved", "internode", "port", "peak", "rounds")
    return all(getattr(was, field) == getattr(now, field) for field in fields)


def budget(was):
    """The peak, over max(prev, curr), that a plan may have."""
    return max(DEFAULT_BUDGET, was.ratio)


def ratio(now, was):
    return now / was if was else (1.0 if now == 0 else math.inf)


def faults(was, now):
    """What is worse about a plan than it was."""
    if was is None:
        return ["has no line in baseline.txt; add its first plan"]
    if was.request != now.request:
        return [f"is a plan of another request ({was.request} -> {now.request})"]
    found = [f"{field} {getattr(was, field)} -> {getattr(now, field)} bytes"
             for field in ("moved", "internode") if getattr(now, field) > getattr(was, field)]
    if now.ratio > budget(was):
        found.append(f"peak {was.ratio} -> {now.ratio} x max(prev, curr)")
    return found + [f"{field} {getattr(was, field)} -> {getattr(now, field)}"
                    for field in ("port", "seconds") if ratio(getattr(now, field), getattr(was, field)) > SLACK]


def geometric_mean(was, now, field):
    """Of the ratios of a field; plans that had none of it are left out, since faults() names those that now have."""
    logs = [math.log(getattr(now[name], field) / getattr(was[name], field))
            for name in now if getattr(was[name], field) and getattr(now[name], field)]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def report_changes(was, now):
    """Prints the plans that are not the same, and returns how many there are."""
    changed = [name for name in now if not same(was[name], now[name])]
    for name in changed:
        print(f"changed: {was[name].line()}\n     to: {now[name].line()}")
    slower = sum(was[name].seconds != now[name].seconds for name in now)
    print(f"{len(now) - len(changed)} of {len(now)} plans are as kept, {len(changed)} changed; "
          f"{slower} have another predicted time")
    return len(changed)


def report_worse(was, now):
    """Prints the plans that are worse, and the means; returns whether any is."""
    worse = {name: found for name, plan in now.items() if (found := faults(was.get(name), plan))}
    for name, found in worse.items():
        print(f"worse: {name}: {'; '.join(found)}")
    total = len(now)
    now = {name: plan for name, plan in now.items() if name in was}
    means = {field: geometric_mean(was, now, field) for field in ("port", "seconds")}
    equal = sum(same(was[name], plan) for name, plan in now.items())
    print(f"against the baseline: {equal} of {total} equal, {total - equal - len(worse)} changed, "
          f"{len(worse)} worse; geometric means: port {means['port']:.6f} x, time {means['seconds']:.6f} x")
    return bool(worse) or max(means.values()) > 1 + 1e-9
