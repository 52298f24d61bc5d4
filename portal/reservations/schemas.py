"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import ID, INSTANT, NAMED, TEXT, named, obj, one_of, or_null
from portal.reservations.models import ReservationState, Source

RESERVATION = named(
    "Reservation",
    obj(
        {
            "id": ID, "team": NAMED, "pool": ID, "gpus": ID, "gpus_per_node": or_null(ID),
            "source": one_of(Source.values), "starts_at": INSTANT, "ends_at": INSTANT,
            "planned_ends_at": INSTANT, "zone": TEXT, "state": one_of(ReservationState.values),
            "request": or_null(ID), "created_at": INSTANT,
        },
        maybe={"purpose": TEXT, "created_by": or_null(ID)},
    ),
)  # fmt: skip
