/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main_watch.c - sfabric-topology-watch: what `sfabric-topology watch` becomes.
 */
#include "cli.h"

int main(int argc, char **argv)
{
	return cmd_watch(argc, argv);
}
