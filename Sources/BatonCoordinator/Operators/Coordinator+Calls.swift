extension Coordinator {
  /// The calls of a caller in this process, with rows in the audit log as for calls from elsewhere.
  package func calls(of caller: Caller) -> any OperatorAPI {
    PermittedAPI(api: self, caller: caller, audit: callAudit, meter: callMeter)
  }
}
