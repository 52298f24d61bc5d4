"""What programs may send to this room."""

from rest_framework import serializers

from portal.inventory import sent


class TierBody(sent.Strict):
    """A tier."""

    name = serializers.CharField(max_length=60)
    target_wait_seconds = serializers.IntegerField()
    goal_permille = serializers.IntegerField(default=950)
    answer_seconds = serializers.IntegerField(default=None, allow_null=True)


class SlaBody(sent.Strict):
    """Whose a tier is to be."""

    team = sent.an_id()
    pool = sent.an_id(optional=True)
    tier = sent.an_id(optional=True)
    valid_from = sent.Instant(default=None, allow_null=True)
    valid_to = sent.Instant(default=None, allow_null=True)


class AcknowledgeBody(sent.Strict):
    """What somebody says of what was late."""

    note = serializers.CharField(max_length=2000)
    owner = sent.an_id(optional=True)
