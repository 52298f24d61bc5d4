"""Routes of the room."""

from django.urls import path

from portal.requests import api, calendar_api, rules_api
from portal.requests.views import (
    feeds,
    inbox,
    maintenance,
    matrix,
    moves,
    quota,
    reserve,
    rules,
    slas,
)

app_name = "requests"
page_patterns = [
    path("reserve/", reserve.reserve, name="reserve"),
    path("reserve/check/", reserve.check, name="check"),
    path("requests/", inbox.inbox, name="list"),
    path("requests/quota/", quota.quota, name="quota"),
    path("requests/extension/", quota.extension, name="extension"),
    path("requests/give-back/", quota.give_back, name="give-back"),
    path("requests/sla/", quota.sla, name="sla"),
    path("requests/<int:request_id>/", inbox.detail, name="detail"),
    path("requests/<int:request_id>/edit/", quota.edit, name="edit"),
    path("requests/<int:request_id>/submit/", moves.submit, name="submit"),
    path("requests/<int:request_id>/cancel/", moves.cancel, name="cancel"),
    path("requests/<int:request_id>/approve/", moves.approve, name="approve"),
    path("requests/<int:request_id>/reject/", moves.reject, name="reject"),
    path("requests/<int:request_id>/release/", moves.release, name="release"),
    path("requests/<int:request_id>/comments/", moves.comment, name="comment"),
    path("maintenance/", maintenance.show, name="maintenance"),
    path("maintenance/plan/", maintenance.plan, name="maintenance-plan"),
    path("maintenance/effects/", maintenance.look, name="maintenance-effects"),
    path("maintenance/<int:window_id>/cancel/", maintenance.cancel, name="maintenance-cancel"),
    path("reserve/feeds/", feeds.mine, name="my-feeds"),
    path("reserve/feeds/<int:team_id>/", feeds.of_team, name="feeds"),
    path("reserve/feeds/revoke/<int:feed_id>/", feeds.revoke, name="feed-revoke"),
    path("calendar/<str:token>.ics", feeds.calendar, name="calendar"),
    path("rules/", rules.show, name="rules"),
    path("rules/save/", rules.save, name="rules-save"),
    path("slas/", slas.show, name="slas"),
    path("slas/set/", slas.give, name="sla-set"),
    path("slas/tiers/", slas.tiers, name="tiers"),
    path("slas/breaches/<int:breach_id>/", slas.breach, name="breach"),
    path("quotas/", matrix.show, name="quotas"),
    path("quotas/pools/<int:pool_id>/", matrix.pool, name="quota-pool"),
    path("quotas/pools/<int:pool_id>/effects/", matrix.look, name="quota-effects"),
    path("quotas/<int:team_id>/<int:pool_id>/", matrix.history, name="quota-history"),
    path("quotas/changes/<int:quota_id>/undo/", matrix.undo, name="quota-undo"),
]
api_patterns = [
    path("rules", rules_api.RuleListView.as_view(), name="api-rule-list"),
    path("rules/approvals", rules_api.ApprovalRuleView.as_view(), name="api-rule-approvals"),
    path(
        "rules/approvals/<int:rule_id>/drop",
        rules_api.ApprovalRuleDropView.as_view(),
        name="api-rule-drop",
    ),
    path("rules/pools/<int:pool_id>", rules_api.PoolRulesView.as_view(), name="api-rule-pool"),
    path("rules/classes/<str:kind>", rules_api.ClassRuleView.as_view(), name="api-rule-class"),
    path(
        "teams/<int:team_id>/calendar-feeds",
        calendar_api.FeedListView.as_view(),
        name="api-feed-list",
    ),
    path(
        "calendar-feeds/<int:feed_id>/revoke",
        calendar_api.FeedRevokeView.as_view(),
        name="api-feed-revoke",
    ),
    path(
        "maintenance/effects",
        calendar_api.WorkEffectsView.as_view(),
        name="api-maintenance-effects",
    ),
    path("quotas/effects", api.QuotaEffectsView.as_view(), name="api-quota-effects"),
    path("requests", api.RequestListView.as_view(), name="api-request-list"),
    path("requests/check", api.CheckView.as_view(), name="api-request-check"),
    path("requests/<int:request_id>", api.RequestDetailView.as_view(), name="api-request-detail"),
    path("requests/<int:request_id>/submit", api.SubmitView.as_view(), name="api-request-submit"),
    path("requests/<int:request_id>/cancel", api.CancelView.as_view(), name="api-request-cancel"),
    path(
        "requests/<int:request_id>/approve", api.ApproveView.as_view(), name="api-request-approve"
    ),
    path("requests/<int:request_id>/reject", api.RejectView.as_view(), name="api-request-reject"),
    path(
        "requests/<int:request_id>/comments",
        api.CommentsView.as_view(),
        name="api-request-comments",
    ),
]
urlpatterns = page_patterns
