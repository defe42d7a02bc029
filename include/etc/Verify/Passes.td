//===- Passes.td - The proof of a plan ---------------------*- tablegen -*-===//

#ifndef ETC_VERIFY_PASSES_TD
#define ETC_VERIFY_PASSES_TD

include "etc/Verify/MigrationPass.td"

def VerifyPlanPass : Etc_Pass<"etc-verify-plan"> {
  let summary = "Prove the plan: roles, coverage, pairing, certificate, peak";
  let description = [{
    Shares no code with the passes that plan: its library links none of them, and what each side holds comes from
    lib/Layout. Checks rules V1 to V11 and V15 to V17: that the request allows the placement, that devices have the
    roles of their ranks, that every program writes each byte of its role once, that nothing is read after its release,
    derived before its source is complete or relayed before it arrives, that zeroes stand only for what the previous
    state has nowhere, that sends and receives pair up round by round, that the stated peaks are the real ones and
    within the budget, and that the certificates prove the bytes kept. Changes nothing but the stage.
  }];
}

#endif // ETC_VERIFY_PASSES_TD
