"""What pyproject.toml cannot say: `assets/` lies beside the package here and inside it once it is installed."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["gptviz", "gptviz.*"]), "gptviz.assets"],
    package_dir={"gptviz.assets": "assets"},
    package_data={"gptviz.assets": ["**"], "gptviz.widgets": ["**/*.js", "**/*.css"]},
)
