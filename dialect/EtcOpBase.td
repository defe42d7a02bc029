//===- EtcOpBase.td - What the ops of every stage share ----*- tablegen -*-===//

#ifndef ETC_DIALECT_OP_BASE_TD
#define ETC_DIALECT_OP_BASE_TD

include "dialect/EtcAttrs.td"

class Etc_Op<string mnemonic, list<Trait> traits = []> : Op<Etc_Dialect, mnemonic, traits>;

// What stands directly in the body of a migration. It says what is so, and later passes read it: no effect is declared, so
// that nothing takes it for dead.
class Etc_StageOp<string mnemonic, list<Trait> traits = []>
    : Etc_Op<mnemonic, [HasParent<"MigrationOp">] # traits>;

#endif // ETC_DIALECT_OP_BASE_TD
