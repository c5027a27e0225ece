import BatonAPI

extension Console {
  var activityRoutes: [Route] { [] }
}
