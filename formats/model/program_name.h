/* SPDX-License-Identifier: MIT */
/* Names of a program, derived from its command line: arguments with blanks between them, quoted as for a shell. */
#ifndef PYREEL_FORMATS_MODEL_PROGRAM_NAME_H
#define PYREEL_FORMATS_MODEL_PROGRAM_NAME_H

#include "formats/model/event.h"

/* A title: "app.py" for "/usr/bin/python3 -u /srv/app.py x", "python3 -m json.tool", "python3 -c", "gunicorn"; "Python"
 * for an empty command line. A title that the process has given itself, which is one argument in quotes, is whole:
 * "gunicorn: worker [app]". The caller frees it. */
char *program_name_title(struct text command);

/* Whether the command is such a title. */
bool program_name_is_written(struct text command);

/* A command line without arguments that has the same title: "app.py", "'python3 -m json.tool'". Of a title that the
 * process has given itself, the first word stays: behind it may be arguments, hosts and folders. An owned text. */
struct text program_name_bare(struct text command);

/* The script that the command line starts, as the line names it: "tools/app.py" for "python3 -u tools/app.py x". Empty:
 * it starts none. It points into `command`. */
struct text program_name_script(struct text command);

/* A short name for files: "app", "json.tool", "python3", "gunicorn". The caller frees it. */
char *program_name(struct text command);

#endif
