"""Every address of the portal, and the rule of each.

A room brings `page_patterns`, `api_patterns` and, in its `permissions`, `RULES`. A route without
a rule answers nobody, and the matrix test fails.
"""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from portal.dashboards import permissions as dashboards_permissions
from portal.dashboards import urls as dashboards_urls
from portal.finance import permissions as finance_permissions
from portal.finance import urls as finance_urls
from portal.inventory import permissions as inventory_permissions
from portal.inventory import urls as inventory_urls
from portal.kubernetes import permissions as kubernetes_permissions
from portal.kubernetes import urls as kubernetes_urls
from portal.notifications import permissions as notifications_permissions
from portal.notifications import urls as notifications_urls
from portal.operations import permissions as operations_permissions
from portal.operations import urls as operations_urls
from portal.quotas import permissions as quotas_permissions
from portal.quotas import urls as quotas_urls
from portal.requests import permissions as requests_permissions
from portal.requests import urls as requests_urls
from portal.reservations import permissions as reservations_permissions
from portal.reservations import urls as reservations_urls
from portal.scheduling import permissions as scheduling_permissions
from portal.scheduling import urls as scheduling_urls
from portal.slas import permissions as slas_permissions
from portal.slas import urls as slas_urls
from portal.studies import permissions as studies_permissions
from portal.studies import urls as studies_urls
from portal.teams import permissions as teams_permissions
from portal.teams import urls as teams_urls
from portal.teams.permissions import Rule
from portal.usage import permissions as usage_permissions
from portal.usage import urls as usage_urls

ACCESS_RULES: dict[str, Rule] = {
    **teams_permissions.RULES,
    **notifications_permissions.RULES,
    **inventory_permissions.RULES,
    **quotas_permissions.RULES,
    **reservations_permissions.RULES,
    **scheduling_permissions.RULES,
    **kubernetes_permissions.RULES,
    **operations_permissions.RULES,
    **dashboards_permissions.RULES,
    **requests_permissions.RULES,
    **finance_permissions.RULES,
    **studies_permissions.RULES,
    **usage_permissions.RULES,
    **slas_permissions.RULES,
}

api_patterns = [
    *teams_urls.api_patterns,
    *notifications_urls.api_patterns,
    *inventory_urls.api_patterns,
    *quotas_urls.api_patterns,
    *reservations_urls.api_patterns,
    *scheduling_urls.api_patterns,
    *kubernetes_urls.api_patterns,
    *requests_urls.api_patterns,
    *finance_urls.api_patterns,
    *studies_urls.api_patterns,
    *usage_urls.api_patterns,
    *slas_urls.api_patterns,
    *operations_urls.api_patterns,
    *dashboards_urls.api_patterns,
]
handler400 = "portal.common.api_faults.bad_request"
handler404 = "portal.common.api_faults.not_found"
handler500 = "portal.common.api_faults.failed"
urlpatterns = [
    path("admin/login/", RedirectView.as_view(pattern_name="account_login"), name="admin-login"),
    path("admin/", admin.site.urls),
    path("account/", include("allauth.account.urls")),
    path("account/sso/", include("allauth.socialaccount.urls")),
    path("account/sso/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path("account/two-step/", include("allauth.mfa.urls")),
    path("account/sessions/", include("allauth.usersessions.urls")),
    path("", include(operations_urls)),
    path("", include(teams_urls)),
    path("", include(notifications_urls)),
    path("", include(dashboards_urls)),
    path("", include(kubernetes_urls)),
    path("", include(requests_urls)),
    path("", include(finance_urls)),
    path("", include(scheduling_urls)),
    path("", include(studies_urls)),
    path("", include(usage_urls)),
    path("api/v1/", include(api_patterns)),
]
