/* SPDX-License-Identifier: MIT */
/* Takes out of the tables what says who recorded, where, and how the program was called (--sanitize). An output that is
 * made from the tables afterwards cannot hold what they no longer have.
 *
 *     command lines, the recorder's too         the title of the program: app.py, python3 -m http.server
 *     host, kernel, working folders             nothing
 *     names of recordings                       numbers
 *     /home/ann/.venv/bin/python3               python3
 *     /home/ann/.venv/lib/python3.12/site-packages/six.py                  site-packages/six.py
 *     /usr/lib/python3.12/json/decoder.py                                  lib/python3.12/json/decoder.py
 *     /home/ann/secret/app/tools/make.py        tools/make.py: relative to the deepest folder of a program or process
 *     any other file                            the file name
 *
 * Names of functions, threads and tasks stay. */
#ifndef PYREEL_CONVERT_FILTERS_SANITIZE_H
#define PYREEL_CONVERT_FILTERS_SANITIZE_H

#include "formats/intern/intern.h"
#include "formats/model/tables.h"
#include "formats/sources/source_name.h"

/* Takes all of that out. A file in one of `repositories` gets its public name. `recordings` has the numbers of
 * recordings. Call it after the last event, before an output reads texts from the tables. */
void sanitize_tables(struct tables *tables, const struct source_folders *repositories, struct intern *recordings);

/* Takes out what describes the recording and its processes. */
void sanitize_description(struct tables *tables, struct intern *recordings);

#define SANITIZE_NAME_ROOM 40

/* The name that a recording gets: "recording 2". The text lies in `room`, of SANITIZE_NAME_ROOM bytes. A recording
 * whose name is new gets the next number in `recordings`. */
struct text sanitize_recording_name(struct intern *recordings, struct text name, char *room);

#endif
