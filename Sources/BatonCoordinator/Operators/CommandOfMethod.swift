/// The commands by which people make calls. A message names the command, because people do not know the methods.
enum CommandOfMethod {
  private static let commands = [
    "ApproveHost": "host approve", "Audit": "audit", "Backup": "store backup", "CreateCredential": "credential create",
    "AbleHosts": "plan", "Batches": "show --batch", "CancelTransfer": "transfers --cancel",
    "ForgetGoneHost": "host forget", "HostHistory": "hosts --history",
    "Changes": "console", "Versions": "definitions --versions",
    "Credentials": "credential list", "ExplainGroups": "explain", "ExplainPages": "explain", "FindHosts": "hosts",
    "ForgetHost": "hosts --forget", "HostPages": "hosts",
    "InviteHost": "host invite", "MoveStore": "store move", "Redefine": "run", "RevokeCredential": "credential revoke",
    "RequestDefinition": "show --definition", "RevokeHost": "host revoke", "RotateRoot": "fleet rotate",
    "SetPriority": "set", "SetSpread": "set", "SetLimit": "set --key", "Shards": "show --shards",
    "SimulateConditions": "simulate conditions",
    "TestReceiver": "notify test",
    "Standing": "status", "SimulateExpiry": "simulate expire", "SimulateLaunch": "simulate launch",
    "SimulateTransfer": "simulate transfer", "SubmitFlow": "submit --as-flow",
    "SetSchedules": "schedules pause", "Backfill": "schedules backfill", "StopBackfill": "schedules backfill --stop",
    "VerifyAudit": "audit verify",
    "WaitingHosts": "host waiting", "WhoAmI": "whoami",
  ]
  /// Methods that are commands without their capital letter.
  private static let plain: Set = [
    "Apply", "Cancel", "Coordinators", "Definitions", "Drain", "Evict", "Explain", "Fleet", "Hosts", "Limits", "List",
    "Logs",
    "Namespaces", "Notifications", "Pause", "Prune", "Queue", "Remove",
    "Retry", "Show", "Submit", "Trace", "Transfers", "Watch",
  ]

  /// The command of a method, such as `baton host invite`; the method itself if no command makes the call.
  /// - Parameter method: the name in `baton.proto`, without the service.
  static func words(_ method: String) -> String {
    if let command = commands[method] { return "baton \(command)" }
    return plain.contains(method) ? "baton \(method.lowercased())" : method
  }
}
