/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_call.h - asking Slurm through the helper sfabric-slurm.
 *
 * Slurm's API can block for nine seconds and can exit the process, so that each call is a child of
 * its own: one request on its stdin, one reply on its stdout, a deadline, then SIGKILL. The helper
 * is the only program here that is linked to libslurmfull.
 *
 * Requests: {"op":"job","job":J}; {"op":"jobs","ids":[..],"since":S?};
 * {"op":"user","uid":U} (may it read every job, and nodes: {"operator":B,"nodes":B});
 * {"op":"db","job":J,"cluster":C} (slurmdbd's newest row of the job);
 * {"op":"tag","job":J,"fabric":{..},"max":N} (AdminComment of a running job);
 * {"op":"record","job":J,"cluster":C,"submit":S,"fabric":{..},"max":N} (AdminComment in slurmdbd,
 * read back). An array task says "array_job" and "array_task" as well where slurmdbd is asked.
 * Replies: {"jobs":[JOB..],"last_update":S} or {"unchanged":true}; {"result":WORD} with WORD one of
 * written, same, foreign, ended, superseded, poorer; {"wait":WHY}: not yet;
 * {"error":WHY,"code":N,"gone":B}. JOB:
 * {"job","uid","user"?,"name"?,"state","running","ended","hosts":[..]?,"gres":[..]?,"submit",
 * "start"?,"end"?,"restarts"?,"array_job"?,"array_task"?}, times in seconds.
 */
#ifndef FABRIC_SLURM_CALL_H
#define FABRIC_SLURM_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "err.h"
#include "json.h"

#define SLURM_CALL_TIMEOUT_MS 15000
#define SLURM_CALL_MAX_BYTES (64u << 20) /* of a reply */
#define JOB_MAX_HOSTS 100000
#define SLURM_CALL_FEW_JOBS 32 /* so many ids are asked for one by one, not as the whole table */

struct job_gpus { /* of one host */
	bool known;
	int32_t *index; /* gres indexes, ascending */
	size_t count;
};

struct job_facts { /* what Slurm says about one incarnation of a job */
	uint32_t job, uid;
	char *user, *name; /* NULL unknown */
	char *state;	   /* Slurm's base state: "RUNNING" */
	bool running, ended;
	char **hosts;
	struct job_gpus *gpus; /* one for each host */
	size_t host_count;
	int64_t submit_s, start_s, end_s; /* 0 unknown */
	int64_t restarts;		  /* -1 unknown */
	bool array;
	uint32_t array_job, array_task;
};

void job_facts_free(struct job_facts *f);
/* From a JOB of a reply; NULL, errno and err when it is not one. */
struct job_facts *job_facts_from_json(json_object *object, struct err *err);

/*
 * GPU indexes out of Slurm's gres detail of one host: "gpu:h100:2(IDX:0,3),mps:..". known is false
 * when it names GPUs without indexes; a text without gpu means known and none.
 */
int job_gpus_parse(const char *detail, struct job_gpus *gpus);

/*
 * One exchange with the helper. *reply is a reference for the caller, never NULL on 0; an "error"
 * in it is a reply, too. A negative errno: the helper could not be run, ran too long or spoke
 * nonsense.
 */
int slurm_call(const struct conf *conf, const char *helper, json_object *request, int timeout_ms,
	       json_object **reply, struct err *err);

/* LIBEXECDIR/sfabric-slurm */
const char *slurm_call_helper(void);

#endif
