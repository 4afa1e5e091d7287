/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - one authenticated HTTP exchange between sfabricd, sfabric and sfabricctld.
 *
 * A POST body is a fresh munge credential, restricted to the server's uid, TTL 60 s, whose payload
 * is "slurm-fabric 1 CLUSTER METHOD PATH\n" and then the JSON text. A GET carries such a credential
 * (no JSON) in the header "Slurm-Fabric-Auth"; its reply body is a credential restricted to the
 * asker's uid with the same first line ("REPLY" for METHOD) and the JSON text, which proves the
 * server and keeps others from reading. So is the reply to a POST of root, with the status once
 * more in its JSON: whoever else listens on the port can't have a message thrown away. Decoding
 * anything but EMUNGE_SUCCESS is a refusal.
 *
 * Paths: POST /v1/begin {"job","step","uid","node","node_index","node_count","class"?,"began_ns"},
 * /v1/map (contract map), /v1/record (contract record), /v1/health (what was seen at switch ports:
 * topology/watch.h; its reply also has "ports"). Replies to POST are {"status"} and
 * {"received_ns","sent_ns"} (the server's clock) or {"error"}; the request's own clock is in its
 * munge encode time and the caller's stopwatch. GET /v1/jobs/JOBID (story), GET /v1/maps/NODE
 * (contract map joined with the fabric). Statuses: 2xx after the commit is on disk; 4xx never to be
 * repeated, but 401 and 403 (the credential's fault, not the message's); 5xx and no answer to be
 * repeated. Two 5xx say that the message is newer than the server, and that it must wait until the
 * server is updated: 503 for a format's version that is not known yet, 501 for a path that is not.
 * 410: of a job that was forgotten.
 */
#ifndef FABRIC_WIRE_H
#define FABRIC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"
#include "err.h"

#define WIRE_PORT 6827
#define WIRE_MAX_BYTES (1u << 20)
#define WIRE_AUTH_HEADER "Slurm-Fabric-Auth"

struct wire_reply {
	int status; /* HTTP status; 0: no server answered */
	char *json; /* malloc'ed, NUL-terminated; NULL: none */
	size_t length;
	int64_t sent_ns, received_ns; /* this side's CLOCK_REALTIME around the exchange */
};

/* Whether a status ends the matter for a message: 2xx, or 4xx that no repeating mends. */
static inline bool wire_final(int status)
{
	return (status >= 200 && status < 300) || (status >= 400 && status < 500 && status != 401 &&
						   status != 403 && status != 408 && status != 429);
}

/*
 * Tries conf's servers in order until one answers; timeout_ms for each. Returns 0 when one did
 * (look at status), or a negative errno when none could be asked (err says why). An answer that has
 * to be proven (a good one to a GET, a final one to a POST) and is not is none.
 */
int wire_post(const struct conf *conf, const char *path, const char *json, int timeout_ms,
	      struct wire_reply *reply, struct err *err);
int wire_get(const struct conf *conf, const char *path, int timeout_ms, struct wire_reply *reply,
	     struct err *err);
void wire_reply_clear(struct wire_reply *reply);

/*
 * The cluster's name in the first line: conf's, or else ClusterName of slurm.conf (conf's, then
 * $SLURM_CONF, then the places Slurm looks at), in lower case as Slurm keeps it. "-" when no file
 * says it: both sides must then be without. malloc'ed; NULL without memory.
 */
char *wire_cluster(const struct conf *conf);

/* Seals head line and JSON in a credential that only uid can decode; malloc'ed text or NULL. */
char *wire_seal(const struct conf *conf, const char *method, const char *path, const char *json,
		uid_t uid, struct err *err);

/*
 * Opens a credential: checks the first line (cluster, method, path) and gives the sender's uid and
 * the JSON (malloc'ed, may be ""). -EACCES: refused for good (replayed, not for us, not whole,
 * other cluster or path); -ESTALE: expired or rewound; -EAGAIN: munged does not answer.
 */
int wire_open(const struct conf *conf, const char *credential, const char *method, const char *path,
	      uid_t *uid, char **json, struct err *err);

#endif
