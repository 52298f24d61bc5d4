"""Routes of the room."""

from django.urls import path

from portal.reservations import api

app_name = "reservations"
_ONE = "reservations/<int:reservation_id>"
api_patterns = [
    path("reservations", api.ReservationListView.as_view(), name="api-reservation-list"),
    path(_ONE, api.ReservationDetailView.as_view(), name="api-reservation-detail"),
    path(f"{_ONE}/cancel", api.CancelView.as_view(), name="api-reservation-cancel"),
    path(f"{_ONE}/give-back", api.GiveBackView.as_view(), name="api-reservation-give-back"),
]
