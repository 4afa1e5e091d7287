/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet.h - what fabric.so tells sfabricd, one SOCK_SEQPACKET packet a message.
 *
 * Text of at most PACKET_MAX bytes: "fabric 1 KIND\n", then "key value\n" lines. Unknown keys are
 * skipped (a newer plugin may say more), unknown kinds and newer versions are refused. libc only:
 * both ends use this file.
 */
#ifndef FABRIC_PACKET_H
#define FABRIC_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define PACKET_MAX 4096
#define PACKET_VERSION 1
#define PACKET_WORD 96 /* the longest class of 32 letters with all modifiers fits */
#define PACKET_UNKNOWN UINT32_MAX

enum packet_kind { PACKET_STEP_BEGIN, PACKET_TASK, PACKET_STEP_END };

struct packet {
	enum packet_kind kind;
	uint32_t job;  /* raw job id */
	uint32_t step; /* STEP_ID_BATCH for the batch step */

	/* step-begin and step-end */
	uint32_t uid;
	uint32_t node_index; /* in the step's node list */
	uint32_t node_count; /* 1 for the batch step */
	uint32_t tasks;	     /* on this node; PACKET_UNKNOWN */
	uint32_t cores;	     /* of the step on this node; PACKET_UNKNOWN */
	bool gpus_known;
	char gpus[512];		 /* gres indexes "0,1,5"; "" none */
	char class[PACKET_WORD]; /* value of --fabric; "" not given */
	char sample[PACKET_WORD];
	char env[PACKET_WORD];
	char mark[PACKET_WORD]; /* name of the mark socket; "" none */
	int64_t began_ns;	/* CLOCK_REALTIME at step-begin */
	int64_t began_mono_ns;

	/* task */
	uint32_t local_id;
	int32_t pid;

	/* step-end */
	int64_t ended_ns;
	bool status_known;
	int32_t status;	   /* highest wait status of the local tasks */
	uint32_t hooks_us; /* what our hooks added to the step on this node: all in slurmstepd,
			    * and the longest of its tasks', by CLOCK_MONOTONIC */
};

/*
 * Writes p into out (PACKET_MAX bytes, not terminated). Returns its length, -EINVAL for a value
 * that packet_read() would refuse, -EMSGSIZE when it does not fit.
 */
int packet_write(const struct packet *p, char out[PACKET_MAX]);

/*
 * Reads len bytes; keys that the kind does not have are skipped, and keys not given are unknown
 * in *p. Returns 0, or -EPROTO on anything that is no packet; err says what.
 */
int packet_read(const char *text, size_t len, struct packet *p, struct err *err);

#endif
