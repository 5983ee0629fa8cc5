/** An unwound fill in the second accounting: each party gets back what it gave. A refunded fee no longer counts. */
import { FEE_ACCOUNT, OUTCOME } from '../../shared/base/codes.ts';
import type { CommandOf } from '../../shared/wire/commands.ts';
import type { Books } from './books.ts';

type Compare = (what: string, journaled: unknown, own: unknown) => void;

export function unwindFill(books: Books, command: CommandOf<'UNWIND'>, same: Compare): void {
  const { account, market, takerAccount, feeMicro, feeYes, feeNo } = command;
  const parties = [
    [account, command.makerMicro, command.makerYes, command.makerNo],
    [takerAccount, command.takerMicro, command.takerYes, command.takerNo],
    [FEE_ACCOUNT, feeMicro, feeYes, feeNo],
  ] as const;
  const [usdc, yes, no] = [1, 2, 3].map((asset) => parties.reduce((sum, party) => sum + BigInt(party[asset]), 0n));
  same('a fill is unwound in whole sets', yes, no);
  same('a set is a USDC', usdc, -yes);
  for (const [of, micro, yesAtomic, noAtomic] of parties) {
    books.purse(of).available += BigInt(micro);
    books.tokens(of, market, OUTCOME.YES).available += BigInt(yesAtomic);
    books.tokens(of, market, OUTCOME.NO).available += BigInt(noAtomic);
  }
  books.market(market).collateral += yes;
  books.feesMicro += BigInt(feeMicro);
  books.feesAtomic += BigInt(feeYes) + BigInt(feeNo);
}
