/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * commands.h - the commands of sfabric: each has a file of its own, cmd_NAME.c.
 *
 * argv[0] is the command's name. The return value is the exit status: 0 done, 1 the thing asked for
 * is not known, 2 wrong use, 3 no answer from sfabricctld or a broken input.
 */
#ifndef FABRIC_COMMANDS_H
#define FABRIC_COMMANDS_H

#include "conf.h"

int cmd_show(const struct conf *conf, int argc, char **argv);
int cmd_map(const struct conf *conf, int argc, char **argv);
int cmd_place(const struct conf *conf, int argc, char **argv);

#endif
