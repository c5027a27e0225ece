package import BatonModel

extension Verbs {
  package func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, from process: WorkerProcess? = nil, at now: Moment
  ) throws -> Bool {
    if let process, try !isRunning(launch, on: process) { return false }
    guard try prepare(.openLaunch).first(launch.request.rawValue, launch.number, row: { _ in true }) == true else {
      return false
    }
    #if PLANTED_BUGS
      if isPlanted(.lastReasonWins) { try prepare(.forgetExpiry).run(launch.request.rawValue, launch.number) }
    #endif
    try prepare(.noteExpiry).run(reason.code, reason.detail, now.date, launch.request.rawValue, launch.number)
    return true
  }
}

extension Query {
  static let openLaunch = Query("SELECT 1 FROM launch WHERE request = ? AND number = ? AND ended_at IS NULL")
  #if PLANTED_BUGS
    static let forgetExpiry = Query("UPDATE launch SET expiring_reason = NULL WHERE request = ? AND number = ?")
  #endif
  /// The first reason stays: one launch, one cause.
  static let noteExpiry = Query(
    """
    UPDATE launch SET expiring_reason = ?, expiring_detail = ?, expiring_since = ?
    WHERE request = ? AND number = ? AND ended_at IS NULL AND expiring_reason IS NULL
    """)
}
