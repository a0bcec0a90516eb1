/* SPDX-License-Identifier: MIT */
#include "convert/viewer/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* The user whose number stands for users without a number here. */
#define USER_UNKNOWN ((uid_t)65534)

/* A row: "3: 0100007F:C3A2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 1000 ...". Addresses are numbers as
 * they lie in memory. */
bool peer_find_user(FILE *table, unsigned peer_port, unsigned port, uid_t *user)
{
    char line[512];
    while (fgets(line, sizeof(line), table)) {
        unsigned from, from_port, to, to_port, owner;
        const int found = sscanf(line, " %*u: %8x:%4x %8x:%4x %*x %*x:%*x %*x:%*x %*x %u", &from, &from_port, &to,
                                 &to_port, &owner);
        if (found != 5 || from != htonl(INADDR_LOOPBACK) || to != from || from_port != peer_port || to_port != port)
            continue;
        *user = (uid_t)owner;
        return true;
    }
    return false;
}

bool peer_is_ours(unsigned peer_port, unsigned port)
{
    const uid_t own = geteuid();
    FILE *table = own == 0 ? NULL : fopen("/proc/net/tcp", "re");
    uid_t user;
    if (!table)
        return true;
    const bool found = peer_find_user(table, peer_port, port, &user);
    fclose(table);
    return !found || user == own || user == 0 || user == USER_UNKNOWN;
}
