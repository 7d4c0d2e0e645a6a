// SPDX-License-Identifier: MIT
// The room of tables: mappings, codecs, the ready-made job table, and the store over any SQL driver.
#pragma once

#include <fila/table/catalogue.hpp>
#include <fila/table/codec.hpp>
#include <fila/table/columns.hpp>
#include <fila/table/connection_pool.hpp>
#include <fila/table/derived_names.hpp>
#include <fila/table/dialect.hpp>
#include <fila/table/doctor.hpp>
#include <fila/table/doctor_limits.hpp>
#include <fila/table/doctor_sql.hpp>
#include <fila/table/driver_concept.hpp>
#include <fila/table/examination.hpp>
#include <fila/table/job_table.hpp>
#include <fila/table/postgres_dialect.hpp>
#include <fila/table/render.hpp>
#include <fila/table/schema.hpp>
#include <fila/table/split_schema.hpp>
#include <fila/table/split_statements.hpp>
#include <fila/table/split_words.hpp>
#include <fila/table/sql_codec.hpp>
#include <fila/table/sql_core.hpp>
#include <fila/table/sql_cursor.hpp>
#include <fila/table/sql_store.hpp>
#include <fila/table/sql_template.hpp>
#include <fila/table/sql_transaction.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/statements.hpp>
#include <fila/table/table_builder.hpp>
#include <fila/table/table_name.hpp>
#include <fila/table/touched.hpp>
#include <fila/table/values.hpp>
#include <fila/table/verify.hpp>
#include <fila/table/verify_beside.hpp>
