"""Routes of the room."""

from django.urls import path

from portal.teams import api
from portal.teams.views import people, preferences, tokens

app_name = "teams"
page_patterns = [
    path("preferences/", preferences.preferences, name="preferences"),
    path("people/", people.people, name="people"),
    path("people/roles/<int:assignment_id>/revoke/", people.revoke, name="revoke-role"),
    path("people/invitations/<int:invitation_id>/withdraw/", people.withdraw, name="withdraw"),
    path("welcome/<str:token>/", people.accept, name="accept"),
    path("account/tokens/", tokens.tokens, name="tokens"),
    path("account/tokens/<uuid:token_id>/revoke/", tokens.revoke_token, name="revoke-token"),
]
api_patterns = [
    path("me", api.MeView.as_view(), name="api-me"),
    path("teams", api.TeamListView.as_view(), name="api-team-list"),
]
urlpatterns = page_patterns
