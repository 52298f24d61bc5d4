"""Routes of the room."""

from django.urls import path

from portal.teams import api, me_api, people_api
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
    path("me/preferences", me_api.PreferencesView.as_view(), name="api-preferences-detail"),
    path("me/tokens", me_api.TokenListView.as_view(), name="api-token-list"),
    path(
        "me/tokens/<uuid:token_id>/revoke",
        me_api.TokenRevokeView.as_view(),
        name="api-token-revoke",
    ),
    path("me/sessions", me_api.SessionListView.as_view(), name="api-session-list"),
    path(
        "me/sessions/<int:session_id>/end", me_api.SessionEndView.as_view(), name="api-session-end"
    ),
    path("people", people_api.PersonListView.as_view(), name="api-person-list"),
    path("people/roles", people_api.RoleGrantView.as_view(), name="api-role-grant"),
    path(
        "people/roles/<int:assignment_id>/revoke",
        people_api.RoleRevokeView.as_view(),
        name="api-role-revoke",
    ),
    path("invitations", people_api.InvitationListView.as_view(), name="api-invitation-list"),
    path(
        "invitations/<int:invitation_id>/withdraw",
        people_api.InvitationWithdrawView.as_view(),
        name="api-invitation-withdraw",
    ),
]
urlpatterns = page_patterns
