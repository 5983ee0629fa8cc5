/** The names under which everyone may see accounts (RULES.md 13.3). */
export type PublicNames = {
  shown(account: number): {
    readonly handle: string;
    readonly userId: string | null;
    readonly avatarUrl: string | null;
  };
};
