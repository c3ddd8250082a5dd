/* minikafka 0.1.0: joined from sql/parts; edit those. */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION minikafka" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

-- Functions, catalog and views.
CREATE SCHEMA minikafka;
-- One partitioned table for each topic, with the topic's name.
CREATE SCHEMA minikafka_topics;
-- The partitions of these tables, and their segments.
CREATE SCHEMA minikafka_data;
