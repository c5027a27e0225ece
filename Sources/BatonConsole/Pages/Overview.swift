import BatonAPI

extension Console {
  var overviewRoutes: [Route] { [] }
}
