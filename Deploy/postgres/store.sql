-- Run once by an administrator of PostgreSQL, as Deploy/README.md shows it: the variable `password` is set by \getenv,
-- so that no argument of psql shows it.
-- The role owns the database and nothing else. The first coordinator makes the tables.
CREATE ROLE baton LOGIN PASSWORD :'password';
CREATE DATABASE baton OWNER baton ENCODING 'UTF8' TEMPLATE template0;
REVOKE CONNECT ON DATABASE baton FROM PUBLIC;
