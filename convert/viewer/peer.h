/* SPDX-License-Identifier: MIT */
/* Whose program is at the other end of a connection on the loopback. The address with the token is on the command line
 * of the browser, which every user of the machine can read. So only programs of the same user may have what the token
 * opens. */
#ifndef PYREEL_CONVERT_VIEWER_PEER_H
#define PYREEL_CONVERT_VIEWER_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Whether a connection from `peer_port` to `port`, both on 127.0.0.1, may belong to a program of our user or of root
 * (who forwards ports). Root's own server asks nobody, because root's user may browse as another one. True when the
 * kernel does not say whose connection it is. */
bool peer_is_ours(unsigned peer_port, unsigned port);

/* Finds the user of such a connection in a table as /proc/net/tcp. False: the table has no such connection. */
bool peer_find_user(FILE *table, unsigned peer_port, unsigned port, uid_t *user);

#endif
