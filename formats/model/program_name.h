/* SPDX-License-Identifier: MIT */
/* What a user calls a program, told from its command line: arguments with blanks between, quoted as for a shell. */
#ifndef PYREEL_FORMATS_MODEL_PROGRAM_NAME_H
#define PYREEL_FORMATS_MODEL_PROGRAM_NAME_H

#include "formats/model/event.h"

/* "app.py" for "/usr/bin/python3 -u /srv/app.py x", "python3 -m json.tool", "python3 -c", "gunicorn"; "Python" when
 * there is nothing to tell it from. The caller frees it. */
char *program_name_title(struct text command);

/* A short name for files: "app", "json.tool", "python3", "gunicorn". The caller frees it. */
char *program_name(struct text command);

#endif
