"""What a run's incidents cost, in words: the second sentence of its story."""

from kcsim.scenarios.views.narration.run_facts import RunFacts
from kcsim.scenarios.views.narration.run_incidents import PRODUCER_PREFIX
from kcsim.scenarios.views.narration.story_words import at, duration, plural, was


def costs_sentence(facts: RunFacts) -> str:
    """Return for how long there was no working controller, what was without a leader or a consumer, and what was lost."""
    parts = [_without_controller(facts), _without_leader(facts), *_waiting(facts), *_not_consumed(facts), _records(facts)]
    return "; ".join(part for part in parts if part)


def _without_controller(facts: RunFacts) -> str:
    gaps = [interval for interval in facts.controllers if interval.broker is None]
    if not facts.controllers:
        won = facts.first_elected
        if won is None:
            return ""
        if not facts.has_failovers:
            last = facts.last_elected or won
            elections = plural(facts.elections, "election")
            return f"{elections} {was(facts.elections)} won, the last by {last.node} with epoch {last.controller_epoch}"
        election = f"{won.node} won the election with epoch {won.controller_epoch} {at(won.t_ms, 'at ')}"
        return f"{election}, and the run ended before it was ready"
    first = facts.controllers[0]
    if not gaps:
        if facts.incidents and facts.incidents[0].t_ms < first.from_ms:
            return f"no broker was a working controller before {at(first.from_ms)}"
        return f"broker-{first.broker} was the working controller throughout"
    if not gaps[-1].is_over and len(gaps) == 1:
        return f"from {at(gaps[0].from_ms)} to the end of the run no broker was a working controller"
    total = sum(gap.length_ms for gap in gaps)
    how = "" if len(gaps) == 1 else f" in all, in {len(gaps)} intervals,"
    end = "" if gaps[-1].is_over else ", and none at the end"
    return f"for {duration(total)}{how} no broker was a working controller{end}"


def _without_leader(facts: RunFacts) -> str:
    affected = sorted({(o.topic, o.partition) for o in facts.outages})
    if not affected:
        exists = bool(facts.leaders_before) or any(facts.state.of_topics.partitions())
        return "no partition was left without a working leader" if exists else "there were no partitions"
    longest = max(o.until_ms - o.from_ms for o in facts.outages)
    lasting = sum(not o.is_over for o in facts.outages)
    end = f" and {lasting} still at the end" if lasting and len(affected) > 1 else " and still at the end" if lasting else ""
    if len(affected) == 1:
        topic, partition = affected[0]
        return f"{topic}-{partition} was without a working leader for {duration(longest)}{end}"
    return f"{len(affected):,} partitions were without a working leader, for up to {duration(longest)}{end}"


def _waiting(facts: RunFacts) -> list[str]:
    waited = facts.first_leader_waits
    if len(waited) > 1:
        return [f"{len(waited):,} new partitions waited up to {duration(max(waited.values()))} for their first leader"]
    return [
        f"{partition} never had a leader"
        if partition in facts.never_led
        else f"{partition} waited {duration(wait_ms)} for its first leader"
        for partition, wait_ms in waited.items()
    ]


def _not_consumed(facts: RunFacts) -> list[str]:
    words = []
    for group, history in sorted(facts.state.of_consumers.groups.items()):
        lengths = [length for p in history.gaps if (length := history.longest_gap_ms(p, facts.end_ms)) > 0]
        if lengths:
            long = [length for length in lengths if length * 2 >= max(lengths)]
            short = [length for length in lengths if length * 2 < max(lengths)]
            others = f", {plural(len(short), 'other')} for up to {duration(max(short))}" if short else ""
            what = f"{len(long)} of {plural(len(history.gaps), 'partition')}"
            words.append(f"{what} of group {group} had no consumer for {duration(max(long))}{others}")
        elif history.gaps:
            words.append(f"every partition of group {group} had a consumer all the time")
    return words


def _records(facts: RunFacts) -> str:
    counts = facts.records
    if counts is None:
        is_writing = any(node.startswith(PRODUCER_PREFIX) for node in facts.state.producers)
        number = plural(facts.acknowledged, "record")
        return f"{number} {was(facts.acknowledged)} acknowledged; whether any was lost is not known" if is_writing else ""
    lost, twice, given_up = counts["lost"], counts["duplicated"], counts["given_up"]
    parts = [f"{lost:,} of {plural(counts['acknowledged'], 'acknowledged record')} {was(lost)} lost"]
    if twice:
        parts.append(f"{twice:,} {was(twice)} written twice")
    if given_up:
        parts.append(f"{given_up:,} more {was(given_up)} given up by their producers")
    return ", ".join(parts)
