from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "example_project"
    verbose_name = "Shop"
    default_auto_field = "django.db.models.BigAutoField"
