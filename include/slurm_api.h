/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_api.h - libslurm's API, and what its releases have under other names (slurm.h's history).
 */
#ifndef FABRIC_SLURM_API_H
#define FABRIC_SLURM_API_H

#include <slurm/slurm.h>

/* Jobs became part of a step's id. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define DESC_JOB_ID(desc) ((desc).step_id.job_id)
#define INFO_JOB_ID(info) ((info)->step_id.job_id)
#define STEP_OF_JOB(id)                                                                            \
	((slurm_step_id_t){ .job_id = (id), .step_id = NO_VAL, .step_het_comp = NO_VAL })
#define slurm_free_ctl_conf slurm_free_conf
#else
#define DESC_JOB_ID(desc) ((desc).job_id)
#define INFO_JOB_ID(info) ((info)->job_id)
#define STEP_OF_JOB(id) (id)
#endif

/* These types became the structs themselves. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
typedef hostlist_t *slurm_hostlist;
typedef list_t *slurm_list;
typedef list_itr_t *slurm_list_iterator;
#else
typedef hostlist_t slurm_hostlist;
typedef List slurm_list;
typedef ListIterator slurm_list_iterator;
#endif

#endif
