internal import BatonModel

extension Verbs {
  /// Counts how many refreshes in a row found no new data. After two of them the next refreshes come less often
  /// (contract, row 42).
  func noteResult(_ ending: Ending, of request: LaunchedRequest) throws {
    guard ending.outcomeKept(reachedEnd: request.reachesEnd) == .finished else { return }
    let inRow = ending.result == .noData ? request.noDataInRow + 1 : 0
    if inRow != request.noDataInRow { try prepare(.setNoData).run(inRow, request.identifierID) }
  }
}

extension Query {
  static let setNoData = Query("UPDATE identifier SET no_data_in_row = ? WHERE id = ?")
}
