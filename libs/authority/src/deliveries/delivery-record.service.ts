import { Injectable } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import type { DeliveryRecordView } from '@valise/contracts/wire';
import { MANAGEMENT } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import { DeliveryRecordRepository } from './delivery-record.repository.js';

const MAX_RECORDS = 1000;

/** What operators may read of deliveries: who, which attempt, how much, what became of it. */
@Injectable()
export class DeliveryRecordService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly records: DeliveryRecordRepository,
  ) {}

  /** The first thousand records of the run, oldest first. @throws ValiseError not_found */
  list(projectId: string, runId: string): Promise<DeliveryRecordView[]> {
    return this.transactions.run(MANAGEMENT, async (tx) => {
      const records = await this.records.listOfRun(tx, projectId, runId, MAX_RECORDS);
      if (!records) throw new ValiseError('not_found', { subject: 'run' });
      return records;
    });
  }
}
