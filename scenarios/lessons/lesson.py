"""A lesson as data: a scenario, and pages of narration and questions that are bound to points of its run.

The models are the specification of the file format. A file does not contain the answer of a question: the run gives it.
"""

from typing import Annotated, Any

from pydantic import Discriminator, Field, PlainValidator, Tag, ValidationInfo, WithJsonSchema, model_validator

from kcsim.scenarios.language.event_pattern import Pattern
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.schema import SCENARIO_NAME, Scenario
from kcsim.scenarios.language.value_types import check_partition, validation_error
from kcsim.scenarios.lessons.lookup_terms import NarrationText, ReasonText
from kcsim.scenarios.lessons.queries import AnyQuery, Since
from kcsim.scenarios.lessons.run_points import RunPoint
from kcsim.znodes.paths import CONTROLLER, CONTROLLER_EPOCH

Text = Annotated[str, Field(min_length=1)]
QUESTION_FIELDS = ("answer", "once", "because", "since", "choices", "then_show")
"""Fields of a page that are valid only together with `ask`."""


def _partition_name(value: object, info: ValidationInfo) -> str:
    check_partition(value, info)
    return str(value)


PartitionName = Annotated[str, PlainValidator(_partition_name), WithJsonSchema({"type": "string"})]
ZnodePath = Annotated[str, Field(pattern="^/")]


class PictureModel(Model):
    """What the picture of a page shows of the cluster. Consumers and groups are shown where there are any."""

    brokers: bool = Field(True, description="Whether it shows the brokers.")
    partitions: list[PartitionName] | None = Field(None, description="Which partitions it shows; all of them if not given.")
    znodes: list[ZnodePath] = Field([CONTROLLER, CONTROLLER_EPOCH], description="Which znodes it shows, with their content.")


class PageModel(Model):
    """Something to read at a point of the run, and perhaps a question about what comes next."""

    at: RunPoint | None = Field(None, description="Where the run stands; where the page before left it, if not given.")
    show: list[Pattern] | None = Field(None, description="Which events on the way there are shown; those of note otherwise.")
    say: NarrationText = Field(
        description="The text of the page. Phrases such as {leader of orders-0} are replaced by their value at that time."
    )
    picture: PictureModel | None = Field(None, description="What its picture shows, if not that of the other pages.")
    ask: NarrationText | None = Field(None, description="A question that the run will answer.")
    answer: AnyQuery | None = Field(None, description="The query that computes the right answer from the run.")
    once: RunPoint | None = Field(None, description="When it is looked up; at the point of the page itself if not given.")
    since: Since = Field("here", description="From where on events count.")
    choices: Annotated[list[Text], Field(min_length=1)] | None = Field(
        None, description="What can be chosen, in place of what the run offers; the right answer is always there as well."
    )
    then_show: list[Pattern] | None = Field(None, description="Which events on the way to the answer are shown.")
    because: ReasonText | None = Field(None, description="Why it is so, in words; the rule and its inputs are shown anyway.")

    @model_validator(mode="after")
    def _asks_or_not(self) -> "PageModel":
        if self.ask is None:
            for name in QUESTION_FIELDS:
                if name in self.model_fields_set:
                    raise validation_error(
                        f"{name.replace('_', '-')} belongs to a question: write ask", name.replace("_", "-")
                    )
        elif self.answer is None:
            raise validation_error("a question needs an answer: a phrase as leader of orders-0, or a query", "ask")
        elif self.because is None:
            raise validation_error("a question needs a because: why it is so", "ask")
        return self


ScenarioOrName = Annotated[
    Annotated[Scenario, Tag("<scenario>")] | Annotated[Text, Tag("<name>")],
    Discriminator(lambda value: "<name>" if isinstance(value, str) else "<scenario>"),
]


class Lesson(Model):
    """A lesson file."""

    name: Annotated[str, Field(pattern=SCENARIO_NAME)]
    number: Annotated[int, Field(ge=1)] | None = Field(None, description="Its place in the course, if it has one.")
    title: Text
    minutes: Annotated[int, Field(ge=1, le=120)]
    you_will_know: Text = Field(description="What its reader will know, in a sentence.")
    scenario: ScenarioOrName = Field(description="A name of the library, a file beside this one, or a scenario itself.")
    picture: PictureModel = Field(
        PictureModel.model_validate({}), description="What the pictures of its pages show of the cluster."
    )
    pages: Annotated[list[PageModel], Field(min_length=1)]
    try_next: Annotated[list[Text], Field(min_length=1)] | None = Field(None, description="Commands to go on with.")

    @model_validator(mode="after")
    def _asks_something(self) -> "Lesson":
        if not any(page.ask for page in self.pages):
            raise validation_error("a lesson asks something: none of its pages does", "pages")
        return self


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a lesson file, without what needs the scenario: names, partitions, points of the run."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Lesson.model_json_schema(by_alias=True),
        "title": "kcsim lesson",
    }
