"""The smallest application of Flask-AppBuilder, which shows who is signed in."""

from pathlib import Path

import settings
from flask import Flask
from flask_appbuilder import AppBuilder
from flask_appbuilder.utils.legacy import get_sqla_class
from flask_login import current_user

app = Flask(__name__)
app.config["SECRET_KEY"] = "s" * 32
app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{Path.cwd() / 'shop.sqlite3'}"
app.config.from_object(settings)
database = get_sqla_class()(app)
with app.app_context():
    AppBuilder(app, database.session, security_manager_class=settings.WalletSecurityManager)


@app.get("/me")
def me():
    names = ("id", "username", "first_name", "last_name", "email")
    return {name: getattr(current_user, name, None) for name in names}
