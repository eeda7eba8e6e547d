/*
 * judgement.h
 *		What is good and bad about a partition key: its score, and warnings in words.
 */
#ifndef PARTITIONKEY_JUDGEMENT_H
#define PARTITIONKEY_JUDGEMENT_H

#include "candidate.h"
#include "workload.h"

/* What keys are judged by. */
typedef struct Advice
{
	Relation	rel;
	int			partitions;		/* physical ones */
	List	   *extracts;		/* Extract *: the paths of the sample */
	List	   *candidates;		/* Candidate * */
	Sample		sample;
	const Workload *workload;	/* or NULL */
	List	   *known;			/* paths that may have been meant, once they were needed */
} Advice;

/* Set what a candidate does for the queries, of which there are some. */
extern void JudgementQueries(const Advice *advice, Candidate *candidate);

/* The score of a candidate that has been measured.  The sample must not be empty. */
extern double JudgementScore(const Advice *advice, const Candidate *candidate);

/* Set the score and the warnings of a candidate.  Needs SPI. */
extern void Judge(Advice *advice, Candidate *candidate);

#endif							/* PARTITIONKEY_JUDGEMENT_H */
