"""docs/reference/hardening.md: what hardening does, and the hardening table, from the rows that the tests run."""

from tests.documents.markdown import bullets, code, paragraph, table
from tests.documents.markdown import page as page_of
from tests.scenarios.hardening.rows import ROWS

INTRODUCTION = """Kafka's controller can be put into elections without end by one wrong znode, and it keeps requests that can
never be fulfilled. A hardened cluster survives both. Hardening is off unless a cluster switches it on, because
the simulator shows what Kafka does: `hardening: on` in the `cluster` of a scenario, `--hardening` of `kcsim
run`, `rerun`, `up`, `broker` and `explore`, `hardening=True` in the Python API and in the fixtures. A real
Kafka has no such switch."""

PRINCIPLES = (
    """**A znode that cannot be read or used is put into quarantine.** The controller goes on without what it says,
reports it (`ZnodeQuarantined`: path, reason, and what is not served because of it), and serves everything else.
It keeps watching the znode, and uses it again once its content is right or the znode is gone (`ZnodeReleased`).""",
    """**Nothing is written to a znode in quarantine, and it is not deleted.** It stays as evidence for the person who
repairs it. The exceptions are znodes that Kafka's own protocol writes: an election raises `/controller_epoch`,
and a broker deletes a `/controller` that is left over from an earlier session of its own, as Kafka's broker
does with its registration.""",
    """**A request that can never be fulfilled is refused** as through the API, with a reason in the event log, and its
entry goes as Kafka's controller removes failed ones. A request that waits for a broker keeps waiting: others
are served.""",
    """**A failure of one partition or topic stays with it.** Neither a failover nor the work on the others ends with
it.""",
    """**Data come first.** No log is deleted that Kafka's controller has not asked to be deleted, and no leader is
elected that Kafka's rules would not allow. Where only a person can know what is right, the partition waits.""",
)
LIMITS = """Out of scope are znodes that no controller reads, and wrong content that looks right, such as a plausible state
of another partition. Brokers of a real Kafka in the same cluster are not hardened: what the table says of
brokers holds for the simulated ones."""


def page() -> str:
    rows = [(code(row.fault), row.kafka, row.hardened, row.limit) for row in ROWS.values()]
    return page_of(
        "hardening.md",
        "Hardening",
        INTRODUCTION,
        "## What a hardened cluster does",
        bullets(PRINCIPLES),
        paragraph(
            """Each decision has a name in `controller/hardening.py`, and the code asks for it where Kafka's controller would
do something else."""
        ),
        "## The hardening table",
        paragraph(
            """Each row is a test (`tests/scenarios/hardening/`): the scenario of the library is run up to its fault, and
            goes on with steps that ask for what the row says. With hardening everything holds; without it something does
            not."""
        ),
        table(("fault", "Kafka's controller", "with hardening", "what remains"), rows),
        "## Limits",
        paragraph(LIMITS),
    )
